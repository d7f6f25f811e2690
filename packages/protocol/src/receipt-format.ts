/** The members of a receipt that describe its form. Spec § Receipt. */
export const RECEIPT_SCHEMA_VERSION = 4;

/** How `output` is encoded for its digests, in the specification's own name for it. */
export const OUTPUT_ENCODING = 'utf8-event-lines-joined-by-lf-no-trailing-lf';
