/** A file that a model gives to a program. */
import { Closed, OutputName, type Static, Type } from '@vouchbox/protocol';

export const InputFile = Closed({
  path: Type.String({
    description: 'Such as input/data.csv, or data.csv for the same; the program opens it as input/data.csv.',
  }),
  text: Type.Optional(Type.String()),
  base64: Type.Optional(Type.String({ description: 'In place of text, for a file that is not text.' })),
  from: Type.Optional(OutputName),
});
export type InputFile = Static<typeof InputFile>;

/** A bare name means a file below `input/`, as with the other clients. */
export function inputFile({ path: name, text, base64, from }: InputFile) {
  const path = name.startsWith('input/') ? name : `input/${name}`;
  if (from !== undefined) return { path, from };
  return { path, content_base64: base64 ?? Buffer.from(text ?? '').toString('base64') };
}

/** The members of a submission, with its input files in the service's form if it has any. */
export function withFiles<Holder extends { readonly files?: readonly InputFile[] | undefined }>({
  files,
  ...holder
}: Holder) {
  return { ...holder, ...(files && { files: files.map(inputFile) }) };
}
