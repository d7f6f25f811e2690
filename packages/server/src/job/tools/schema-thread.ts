/** The thread that checks arguments and results against schemas. The caller ends it if a check takes too long. */
import assert from 'node:assert';
import { parentPort } from 'node:worker_threads';
import { misfitOfJson } from './json-schema.ts';
import type { SchemaAnswer, SchemaQuestion } from './schema-checks.ts';

const port = parentPort;
assert(port !== null, 'the checker of schemas runs as a thread');

port.on('message', (question: SchemaQuestion) => port.postMessage(answerTo(question)));
port.postMessage('ready');

/** Checks a value. A check that exhausts the stack counts as failed. */
function answerTo({ schema, value }: SchemaQuestion): SchemaAnswer {
  try {
    return { misfit: misfitOfJson(schema, value), failed: false };
  } catch {
    return { misfit: null, failed: true };
  }
}
