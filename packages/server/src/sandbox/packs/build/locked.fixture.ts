/** One small wheel and one small npm package, locked as their tools lock them. */
export const IS_NUMBER =
  'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==';
export const INICONFIG = 'f631c04d2c48c52b84d0d0549c99ff3859c98df65b3101406327ecc7d53fbf12';

export function requirements(sha256: string): string {
  return `iniconfig==2.3.0 \\\n    --hash=sha256:${sha256}\n`;
}

export function lockfile(integrity: string): string {
  return JSON.stringify({
    name: 'pack',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': { name: 'pack', version: '1.0.0', dependencies: { 'is-number': '7.0.0' } },
      'node_modules/is-number': { version: '7.0.0', integrity },
    },
  });
}
