/** A program that is compiled once, and its product. Spec § Builds. */
import { BUILD_OPTIONS } from './build-options.ts';
import { buildOptionsMax, wordBytesMax } from './limits.ts';
import { Closed, type Static, Type } from './type.ts';

/** Asks that the program be compiled and not run. The result is a product that other jobs can start. */
export const Build = Closed(
  {
    options: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: wordBytesMax }), {
        maxItems: buildOptionsMax,
        description: `Options of the compiler, of which these are taken. ${BUILD_OPTIONS}`,
      }),
    ),
  },
  {
    description:
      'Only compiles the program, in `c`, `cpp` or `java`. The product comes back as the large output `output/product`.',
  },
);
export type Build = Static<typeof Build>;

/** A build as it is stored. */
export const StoredBuild = Type.Object({ options: Type.Array(Type.String()) });

/** The product that a job starts instead of a compiler. */
export const Product = Closed(
  { job_id: Type.String({ pattern: '^[!-~]{1,128}$', description: 'The job of a successful build.' }) },
  {
    description:
      'Starts what a build of the same code made, without a compiler. The build was of the same language and runtime.',
  },
);
export type Product = Static<typeof Product>;

/** A product as it is stored. A node starts it only with the runtime pack that built it; `pack_digest` names it. */
export const StoredProduct = Type.Object({ job_id: Type.String(), pack_digest: Type.String() });
export type StoredProduct = Static<typeof StoredProduct>;
