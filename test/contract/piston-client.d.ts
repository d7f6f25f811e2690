/** Types for the calls that the tests make to the npm package `piston-client`, which has no types of its own. */
declare module 'piston-client' {
  export default function piston(options: { readonly server: string }): {
    execute(language: string, code: string): Promise<unknown>;
  };
}
