/**
 * The languages that a submission may name. Capabilities say which of them a service has. The first three are those of
 * Spec § Job submission; the others are additions to it.
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
