/** All changes to the store, by name. Except for `LAGGING` in `commands.ts`, a change is on disk before it is answered. */
export { createCredential, revokeCredential, rotateCredential } from './access/credentials.ts';
export { createLink, revokeLink } from './access/links.ts';
export { consumeTicket, storeTicket } from './access/tickets.ts';
export { addPiece, beginUpload, completeUpload, dropUpload, removeUnusedBlobs, useBlob } from './blobs/blobs.ts';
export {
  postponeAttestation,
  resumeAttestations,
  storeAttestation,
  withdrawAttestation,
} from './evidence/attestations.ts';
export { requestCancel } from './evidence/cancellation.ts';
export { finish } from './evidence/outcomes.ts';
export { deleteEnded } from './evidence/retention.ts';
export { registerKey } from './evidence/signing-keys.ts';
export { admitGrading } from './gradings/admission.ts';
export { endGradedJob, endProgram, requestGradingCancel } from './gradings/progress.ts';
export { deleteEndedGradings } from './gradings/retention.ts';
export { probe } from './health.ts';
export { append } from './history/events.ts';
export { admit } from './jobs/admission.ts';
export { node, releaseJobs, releaseOrphans, takenJobs } from './jobs/claims.ts';
export { orphanedJobs, start } from './jobs/jobs.ts';
export { takeQueuedJobs } from './jobs/queue.ts';
export { removeSession } from './jobs/sessions.ts';
export { closeLog, openLog, reopenLog, sequenceLog, storeLogHead } from './log/log-state.ts';
export { drawPending, storePending, storePromises } from './log/promises.ts';
export { beginObject, condemnObjects, forgetObject, placeObject, postponeObject } from './objects/objects.ts';
export { answerToolCall } from './tools/tool-calls.ts';
