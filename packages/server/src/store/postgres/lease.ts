/**
 * For how long a node that does not renew its lease is taken for alive, in seconds of the database's clock. Its running
 * jobs are ended by another node within a few seconds more.
 */
export const leaseSeconds = 6;

/**
 * The lease of a node that does not serve yet: it has no jobs that another could take over, and loading its programs
 * may keep it from renewing.
 */
export const startingLeaseSeconds = 60;

/** How often a node renews its lease and looks at what the others did. */
export const beatMilliseconds = 1000;

/** How long a beat waits for its answer. Afterwards there is time for another connection before the lease is over. */
export const beatAnswerMilliseconds = leaseSeconds * 1000 - 2 * beatMilliseconds;
