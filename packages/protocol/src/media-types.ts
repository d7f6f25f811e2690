/** The media types of answers that are not plain JSON. */

/** The media type of a result artifact, which an attestation signs. Spec § Attestation member of job detail. */
export const RESULT_MEDIA_TYPE = 'application/vnd.svc.execution-result.v1+json';
/** The media type of a DSSE envelope as a file. The `payloadType` inside the envelope is a different type. */
export const ENVELOPE_MEDIA_TYPE = 'application/vnd.dsse.envelope.v1+json';

/** The media type of the log's proofs and heads: https://c2sp.org/tlog-proof. */
export const LOG_MEDIA_TYPE = 'text/plain; charset=utf-8';

/** The media types of metrics, in the two formats that scrapers ask for. */
export const OPENMETRICS_MEDIA_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
export const PROMETHEUS_MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** The media type of every uploaded file, whatever its content is. */
export const BLOB_MEDIA_TYPE = 'application/octet-stream';
