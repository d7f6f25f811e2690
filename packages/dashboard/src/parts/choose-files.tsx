/** A button for choosing files on this machine. The choice is cleared afterwards, so that the same file can be chosen again. */
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
