/**
 * The address of each operation: its method and its path. Addresses are not in `operations.ts`, so that a client need not load
 * the schemas. Spec § Endpoints.
 */

export interface OperationEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /**
   * Path parameters in braces: `{id}` is a job id, `{seq}` the number of an event, `{grading}` the id of a
   * grading, `{session}` a name, `{link}` the id of a link, `{sha256}` the digest of a blob.
   */
  readonly path: `/${string}`;
}

export const ENDPOINTS = {
  getHealth: { method: 'GET', path: '/healthz' },
  getReadiness: { method: 'GET', path: '/readyz' },
  getContract: { method: 'GET', path: '/openapi.json' },
  submitJob: { method: 'POST', path: '/v1/jobs' },
  listJobs: { method: 'GET', path: '/v1/jobs' },
  getJob: { method: 'GET', path: '/v1/jobs/{id}' },
  cancelJob: { method: 'DELETE', path: '/v1/jobs/{id}' },
  getResult: { method: 'GET', path: '/v1/jobs/{id}/result' },
  replayEvents: { method: 'GET', path: '/v1/jobs/{id}/replay' },
  mintStreamTicket: { method: 'POST', path: '/v1/jobs/{id}/stream-ticket' },
  streamEvents: { method: 'GET', path: '/v1/jobs/{id}/stream' },
  listToolCalls: { method: 'GET', path: '/v1/jobs/{id}/tool-calls' },
  answerToolCall: { method: 'POST', path: '/v1/jobs/{id}/tool-calls/{seq}' },
  createLink: { method: 'POST', path: '/v1/jobs/{id}/links' },
  listLinks: { method: 'GET', path: '/v1/jobs/{id}/links' },
  revokeLink: { method: 'DELETE', path: '/v1/jobs/{id}/links/{link}' },
  putBlob: { method: 'PUT', path: '/v1/blobs/sha256/{sha256}' },
  getBlob: { method: 'GET', path: '/v1/blobs/sha256/{sha256}' },
  submitGrading: { method: 'POST', path: '/v1/gradings' },
  listGradings: { method: 'GET', path: '/v1/gradings' },
  getGrading: { method: 'GET', path: '/v1/gradings/{grading}' },
  cancelGrading: { method: 'DELETE', path: '/v1/gradings/{grading}' },
  gradingEvents: { method: 'GET', path: '/v1/gradings/{grading}/events' },
  listSessions: { method: 'GET', path: '/v1/sessions' },
  getSession: { method: 'GET', path: '/v1/sessions/{session}' },
  removeSession: { method: 'DELETE', path: '/v1/sessions/{session}' },
  getAttestation: { method: 'GET', path: '/v1/jobs/{id}/attestation' },
  getResultArtifact: { method: 'GET', path: '/v1/jobs/{id}/result-artifact' },
  getLogProof: { method: 'GET', path: '/v1/jobs/{id}/log-proof' },
  getPromise: { method: 'GET', path: '/v1/jobs/{id}/promise' },
  getPending: { method: 'GET', path: '/v1/jobs/{id}/pending' },
  getCanary: { method: 'GET', path: '/v1/jobs/{id}/canary' },
  getPublicKey: { method: 'GET', path: '/v1/attestation/public-key' },
  getCapabilities: { method: 'GET', path: '/v1/capabilities' },
  getWhoami: { method: 'GET', path: '/v1/whoami' },
  getStatus: { method: 'GET', path: '/v1/status' },
  getTenantMetrics: { method: 'GET', path: '/v1/metrics' },
  getMetrics: { method: 'GET', path: '/metrics' },
} as const satisfies Record<string, OperationEndpoint>;

export type OperationId = keyof typeof ENDPOINTS;

/** The operations whose path names a job. */
export type JobOperationId = {
  [Id in OperationId]: (typeof ENDPOINTS)[Id]['path'] extends `${string}{id}${string}` ? Id : never;
}[OperationId];

/** The operations whose path names a grading. */
export type GradingOperationId = {
  [Id in OperationId]: (typeof ENDPOINTS)[Id]['path'] extends `${string}{grading}${string}` ? Id : never;
}[OperationId];

/** The path of an operation on one grading, relative to the service. */
export function gradingPath(id: GradingOperationId, grading_id: string): string {
  return ENDPOINTS[id].path.replace('{grading}', encodeURIComponent(grading_id));
}

/** The path of an operation on one job, relative to the service. */
export function jobPath(id: JobOperationId, job_id: string): string {
  return ENDPOINTS[id].path.replace('{id}', encodeURIComponent(job_id));
}
