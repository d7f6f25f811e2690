/** Spec § Limits, row by row. */
import type { Promised } from './promise.ts';

export const LIMITS: readonly Promised[] = [
  ['The numbers', 'protocol/limits › the numbers of the contract'],
  ['Source 1 MiB', 'contract/submission › code: 1 MiB and not one byte more'],
  ['Stdin 1 MiB', 'contract/submission › stdin: 1 MiB and not one byte more'],
  [
    'Files: 32, 2 MiB, 4 MiB',
    'contract/submission › a file: 2 MiB and not one byte more',
    'contract/submission › all files: 4 MiB and not one byte more',
    'contract/submission › 32 files and 32 outputs, and not one more',
  ],
  [
    'Outputs: 32, 2 MiB, 4 MiB',
    'contract/submission › 32 files and 32 outputs, and not one more',
    'contract/artifacts › 2 MiB comes back whole',
    'contract/artifacts › 4 MiB together come back',
  ],
  [
    'Body 24 MiB',
    'contract/submission › the body: 24 MiB',
    'server/http/transport › a body of exactly the bound is read',
  ],
  [
    'Body deadline, and active-read caps',
    'contract/deadlines › is answered 408 at the end of its time',
    'contract/budgets › for bodies are held while one is read',
  ],
  [
    'Stored output: 1 MiB and 10,000 records',
    'contract/output › a stream is stored up to 10,000 records',
    'contract/output › a stream is stored up to 1 MiB',
  ],
  ['Record 16 KiB', 'contract/output › a record is at most 16 KiB'],
  [
    'Idempotency-Key 1–128',
    'contract/idempotency › of visible ASCII is taken as it is',
    'contract/idempotency › of 129 bytes',
  ],
  ['wait_seconds 300', 'contract/result › may not be %j'],
  ['Response pump', 'server/http/pump › nothing is read ahead'],
  [
    'Write progress',
    'server/http/connections › no byte accepted for the whole deadline closes the connection',
    'server/http/connections › one byte of the piece in flight begins the deadline anew',
  ],
  [
    '256 connections',
    'contract/connections › of three hundred that connect at once no more are held than there are places',
  ],
  [
    'Request head 30 seconds',
    'contract/deadlines › is closed at the end of its time, without an answer',
    'server/http/transport › the head of a later request has a deadline of its own',
  ],
  [
    '10 minutes of life',
    'server/http/connections › no activity saves a connection from the end of its lifetime',
    'server/http/stream › with 1001 when its connection has lived long enough',
  ],
  [
    'Result artifact 16 MiB, envelope 2 MiB',
    'verifier/service-verify › a result of 16 MiB is verified',
    'verifier/service-verify › an envelope of 2 MiB',
  ],
  [
    'Output is drained past the cap',
    'contract/output › one line of 10 MB is drained to its end',
    'contract/output › a flood on both streams',
  ],
  [
    'Transport limits are compiled in, and logged at the start',
    'server/http/listener › the bounds of every connection are in the log from the start',
  ],
];
