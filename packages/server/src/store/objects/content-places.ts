/** Constants for the contents of a job that can lie in an object store. This module has no queries. */

/** The position of a job's result among the job's contents. Artifacts have positions from 0 up. */
export const resultPosition = -1;

/** The least size, in bytes, of a content that can be moved. Two index definitions contain this number. */
export const movedBytesMin = 65_536;
