/**
 * Everything that can be read from the store, by name. Each read sees every change that was answered before the read was called.
 */
export { credential, credentials } from './access/credentials.ts';
export { link, links } from './access/links.ts';
export { blob, blobPiece } from './blobs/blobs.ts';
export { largeOutputBlob, largeOutputs } from './blobs/large-outputs.ts';
export { attestation, outbox, resultOf } from './evidence/attestations.ts';
export { artifacts } from './evidence/outcomes.ts';
export { registeredKeys } from './evidence/signing-keys.ts';
export { findGradingByKey, gradingDigest } from './gradings/admission.ts';
export {
  gradedEnd,
  grading,
  gradingEvents,
  gradingProgram,
  gradings,
  gradingTests,
  gradingWork,
  runningGradings,
} from './gradings/reading.ts';
export { counts } from './health.ts';
export { events } from './history/events.ts';
export { findByIdempotencyKey } from './jobs/admission.ts';
export { productOf } from './jobs/builds.ts';
export { currentJobs } from './jobs/current-jobs.ts';
export { inputs } from './jobs/inputs.ts';
export { job, jobSummary, receiptOf, runningJobs } from './jobs/jobs.ts';
export { queuedJobs } from './jobs/queue.ts';
export { session, sessions } from './jobs/sessions.ts';
export { specDigest } from './jobs/spec-digest.ts';
export { logState } from './log/log-state.ts';
export { jobPromise, nextPromiseDue, pendingOf, unsignedPending, unsignedPromises } from './log/promises.ts';
export { logCounts, logPlace, logPosition, logRanges, logTile } from './log/reading.ts';
export { contentHere, contentsHere, objectCounts, objectOf, objectOfArtifact } from './objects/objects.ts';
export { jobDetail } from './reading/job-detail.ts';
export { linkedJob, linkShowsBlob } from './reading/linked-job.ts';
export { list } from './reading/listing.ts';
export { artifactPiece, artifactRecords, textExtent, textPiece } from './reading/long-texts.ts';
export { terminalRecords } from './reading/terminal-records.ts';
export { openToolCalls, toolAnswers } from './tools/tool-calls.ts';
