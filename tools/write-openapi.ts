/**
 * Writes the files made from the contract's tables: the OpenAPI document, the clients' types and forms, docs/REFUSALS.md, and
 * docs/API.md. The examples in docs/API.md stay unchanged. Run this after each change to `protocol`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '@vouchbox/protocol';
import { answerForms, answerFormsModule } from './answer-forms.ts';
import { exchangesIn } from './api-page/exchange.ts';
import { apiPage } from './api-page/page.ts';
import { clientTypes } from './client-types.ts';
import { refusalsPage } from './refusals-page.ts';

const root = join(import.meta.dirname, '..');
const types = join(root, 'packages/client/src/contract-types.ts');
const forms = join(root, 'packages/client/src/answer-forms.ts');
const formsOfPython = join(root, 'clients/python/src/vouchbox/answer_forms.json');
writeFileSync(join(root, 'packages/protocol/openapi.json'), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
writeFileSync(types, clientTypes());
writeFileSync(forms, answerFormsModule());
writeFileSync(formsOfPython, JSON.stringify(answerForms()));
execFileSync(
  join(root, 'node_modules/.bin/biome'),
  ['check', '--write', '--log-level=error', types, forms, formsOfPython],
  {
    cwd: root,
  },
);
const page = join(root, 'docs/API.md');
writeFileSync(page, apiPage(exchangesIn(readFileSync(page, 'utf8'))));
writeFileSync(join(root, 'docs/REFUSALS.md'), refusalsPage());
