/** The media types of what is signed. Spec § Attestation member of job detail. */
export const RESULT_MEDIA_TYPE = 'application/vnd.svc.execution-result.v1+json';
/** Of the DSSE envelope as a file; the `payloadType` inside it is another one. */
export const ENVELOPE_MEDIA_TYPE = 'application/vnd.dsse.envelope.v1+json';
