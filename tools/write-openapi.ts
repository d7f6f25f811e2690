/** Writes the contract, made from its tables, to the checked-in file: run it after any change of `protocol`. */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '@vouchbox/protocol';

const target = new URL('../packages/protocol/openapi.json', import.meta.url);
writeFileSync(target, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
