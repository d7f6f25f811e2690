import { MARK } from '../../../../tools/pages/mark.ts';

/** The mark that stands beside the name. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d={MARK} />
    </svg>
  );
}
