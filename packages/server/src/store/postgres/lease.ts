/**
 * How long a node counts as alive without renewing its lease, in seconds on the database's clock. Within a few more seconds,
 * another node ends the running jobs of the dead node.
 */
export const leaseSeconds = 6;

/**
 * The lease of a node that does not serve yet. Such a node has no jobs that another node could take over, and loading its
 * programs may keep it from renewing the lease.
 */
export const startingLeaseSeconds = 60;

/** How often a node renews its lease and looks at what the other nodes did. */
export const beatMilliseconds = 1000;

/** How long a beat waits for its answer. After that, there is still time for another connection before the lease is over. */
export const beatAnswerMilliseconds = leaseSeconds * 1000 - 2 * beatMilliseconds;
