/**
 * How long a node that does not renew its lease counts as alive, in seconds of the database's clock. Another node ends
 * its running jobs within a few seconds more.
 */
export const leaseSeconds = 6;

/**
 * The lease of a node that does not serve yet. This node has no jobs that another could take over, and loading its programs may
 * keep it from renewing the lease.
 */
export const startingLeaseSeconds = 60;

/** How often a node renews its lease and looks at what the others did. */
export const beatMilliseconds = 1000;

/** How long a beat waits for its answer. After this time, another connection can still be made before the lease is over. */
export const beatAnswerMilliseconds = leaseSeconds * 1000 - 2 * beatMilliseconds;
