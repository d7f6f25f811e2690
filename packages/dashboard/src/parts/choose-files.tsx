/** A button that chooses files of this machine. A browser tells of no change if a file is chosen that was: none stays chosen. */
interface ChooseFilesProps {
  readonly label: string;
  readonly className: string;
  readonly onChoose: (files: readonly File[]) => void;
  readonly accept?: string;
  readonly multiple?: boolean;
}

export function ChooseFiles({ label, className, onChoose, ...asked }: ChooseFilesProps) {
  return (
    <label className={className}>
      {label}
      <input
        {...asked}
        className="hidden-visually"
        type="file"
        onChange={({ target }) => {
          onChoose([...(target.files ?? [])]);
          target.value = '';
        }}
      />
    </label>
  );
}
