/** The tasks of a node. In a service with a single node, that node does all of them. */

/** `api` serves callers, `executor` runs programs, `signer` signs results. */
export const NODE_ROLES = ['api', 'executor', 'signer'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];
