/** Types for the calls that tests make to the npm package `piston-client`. The package has no types of its own. */
declare module 'piston-client' {
  export default function piston(options: { readonly server: string }): {
    execute(language: string, code: string): Promise<unknown>;
  };
}
