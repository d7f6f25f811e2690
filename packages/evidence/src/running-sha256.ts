/** SHA-256 of bytes that come in pieces, so that none of them has to be kept. */
export interface RunningSha256 {
  update(piece: Uint8Array): void;
  /** The digest of all pieces as 64 lower-case hex digits. Nothing may follow. */
  hex(): string;
}
