/** Tells which contents of a job can lie in an object store, without the queries that find them. */

/** The position of the result of a job among its contents; the positions of artifacts count from 0. */
export const resultPosition = -1;

/** The least size of a content that can be moved, in bytes. The definitions of two indexes contain this number. */
export const movedBytesMin = 65_536;
