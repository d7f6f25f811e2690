/** The media types of what is not plain JSON. */

/** Of what is signed. Spec § Attestation member of job detail. */
export const RESULT_MEDIA_TYPE = 'application/vnd.svc.execution-result.v1+json';
/** Of the DSSE envelope as a file; the `payloadType` inside it is another one. */
export const ENVELOPE_MEDIA_TYPE = 'application/vnd.dsse.envelope.v1+json';

/** Of metrics, in the two formats that scrapers ask for. */
export const OPENMETRICS_MEDIA_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
export const PROMETHEUS_MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
