/**
 * The checks of the verifier for other programs, of bytes that they read: the same that `service-verify directory` makes.
 * Uses nothing that only Node has.
 */
export { EXIT } from './exit-code.ts';
export { parseExport } from './exported-job.ts';
export type { Report } from './report.ts';
export { verifyExport } from './verify-export.ts';
