/**
 * The languages that a submission may name. Capabilities say which languages a service has. Spec § What the service
 * does has the first three; the others are additions to the specification.
 */
export const LANGUAGES = [
  'python',
  'node',
  'bash',
  'typescript',
  'ruby',
  'php',
  'lua',
  'r',
  'java',
  'c',
  'cpp',
] as const;
export type Language = (typeof LANGUAGES)[number];
