/**
 * The verifier as a library: the checks of `service-verify directory` on files that its caller has opened. It opens no
 * file and no connection itself, and uses nothing that only Node has.
 */
export { type Agreement, type AgreeReport, type ComparedRun, compareRuns, type NamedExport } from './agree.ts';
export { checkRecord, type JobRecord, type RecordVerdict } from './check-record.ts';
export { drawGraph } from './draw-graph.ts';
export {
  canVerifySignatures,
  type Examination,
  type ExaminationOptions,
  type ExaminationVerdict,
  type ExaminedCheck,
  examineExport,
} from './examine-export.ts';
export { EXIT, type ExitCode } from './exit-code.ts';
export { readExportBlobs } from './export-blobs.ts';
export {
  type ExportedJob,
  type ExportFiles,
  type ExportProblem,
  isProblem,
  ownBytes,
  parseExport,
  wholeFile,
} from './exported-job.ts';
export { eventsOf } from './history.ts';
export { relationOf, signedProofs } from './log-heads.ts';
export type { LogExpectation, LogStanding } from './log-standing.ts';
export { type Policy, type PolicyOptions, parsePolicy } from './policy.ts';
export type { Check, Facts, Report } from './report.ts';
export { isSameLog } from './same-log.ts';
export { showText } from './show-report.ts';
export { callsIn, callText } from './tool-calls.ts';
export { UsageError } from './usage-error.ts';
export { type ExportExpectation, verifyExport } from './verify-export.ts';
export {
  type GraphEdge,
  type GraphFiles,
  type GraphJob,
  type GraphJobState,
  type GraphReport,
  verifyGraph,
} from './verify-graph.ts';
export { VERDICT_DIRECTORY, type VerdictExpectation, type VerdictFiles, verifyVerdict } from './verify-verdict.ts';
