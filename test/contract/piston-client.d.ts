/** The npm package `piston-client`, which brings no types: as far as the tests call it. */
declare module 'piston-client' {
  export default function piston(options: { readonly server: string }): {
    execute(language: string, code: string): Promise<unknown>;
  };
}
