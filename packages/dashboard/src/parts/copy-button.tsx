/** A button that copies a text, or says that the page may not write to the clipboard. */
import { useToast } from './toasts.tsx';

interface CopyButtonProps {
  readonly text: string;
  /** The name of what is copied, such as `the job id`. */
  readonly what: string;
  readonly isPrimary?: boolean;
}

export function CopyButton({ text, what, isPrimary = false }: CopyButtonProps) {
  const copy = useCopy();
  return (
    <button
      className={isPrimary ? 'button primary' : 'button'}
      type="button"
      aria-label={`Copy ${what}`}
      onClick={() => copy(text, what)}
    >
      Copy
    </button>
  );
}

/** Copies a text and tells the person what was copied. */
export function useCopy(): (text: string, what: string) => void {
  const show = useToast();
  return (text, what) => {
    // Pages that were loaded without TLS have no clipboard.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('there is no clipboard'));
    written.then(
      () => show(`Copied ${what}`),
      () => show(`This browser did not let the page copy ${what}`),
    );
  };
}
