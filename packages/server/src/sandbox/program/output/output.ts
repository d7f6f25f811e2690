/**
 * Turns the raw bytes of one stream into records: lines without their newline or, for longer lines, pieces of at most 16 KiB.
 * It keeps counting and hashing after the recording caps are reached, so that a program is never stalled by its own output, and
 * the receipt still says how much output there was. Spec § Events 5–6, § Limits.
 */
import { createHash } from 'node:crypto';
import {
  type OutputRecord,
  recordBytesMax,
  type StreamTelemetry,
  streamBytesMax,
  streamRecordsMax,
} from '@vouchbox/protocol';
import type { Cut } from '../../sandbox.ts';

const LF = 0x0a;
/** How long a line may stay unfinished. Then it is recorded as it is, so that a prompt or a progress bar is shown. */
const IDLE_MILLISECONDS = 1000;

/**
 * Makes the records of one stream. Bytes go in with `write`. Records come out through `offer`, each once and in order. When a cap
 * is exceeded, `offer` reports that once and immediately. Folding the records (`text`, and LF unless `partial`) gives back the
 * exact UTF-8 text; a byte that is not UTF-8 becomes U+FFFD. The caps count bytes of that folded text.
 */
export class OutputCapture {
  readonly #offer: (records: readonly OutputRecord[], cut?: Cut) => void;
  readonly #hash = createHash('sha256');
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** Decoded text of the unfinished line; always shorter than one record. */
  #line = '';
  #idle: NodeJS.Timeout | undefined;
  #bytesSeen = 0;
  #bytesOffered = 0;
  #recordsOffered = 0;
  #truncated = false;
  #toldCut = false;

  constructor(offer: (records: readonly OutputRecord[], cut?: Cut) => void) {
    this.#offer = offer;
  }

  /** Takes bytes that were read from the pipe. The buffer is not kept. */
  write(chunk: Uint8Array): void {
    this.#bytesSeen += chunk.byteLength;
    this.#hash.update(chunk);
    if (this.#truncated) return;
    clearTimeout(this.#idle);
    this.#record(chunk);
    if (this.#line !== '' && !this.#truncated)
      this.#idle = setTimeout(() => this.#flushLine(), IDLE_MILLISECONDS).unref();
  }

  /** Offers an unfinished last line and returns what was observed. Nothing may be written afterwards. */
  end(): StreamTelemetry {
    clearTimeout(this.#idle);
    if (!this.#truncated) {
      const records: OutputRecord[] = [];
      this.#appendText(this.#decoder.decode(), records);
      this.#deliver(records);
      this.#flushLine();
    }
    return {
      bytes_seen: this.#bytesSeen,
      bytes_offered_to_sink: this.#bytesOffered,
      records_offered_to_sink: this.#recordsOffered,
      raw_sha256: this.#hash.digest('hex'),
      executor_truncated: this.#truncated,
    };
  }

  #record(chunk: Uint8Array): void {
    const records: OutputRecord[] = [];
    let start = 0;
    while (start < chunk.byteLength && !this.#truncated) {
      const newline = chunk.indexOf(LF, start);
      const end = newline < 0 ? chunk.byteLength : newline;
      // Slices of at most one record: otherwise a 64 KiB chunk of one endless line would be decoded repeatedly.
      for (let from = start; from < end && !this.#truncated; from += recordBytesMax) {
        const piece = chunk.subarray(from, Math.min(end, from + recordBytesMax));
        this.#appendText(this.#decoder.decode(piece, { stream: true }), records);
      }
      if (newline < 0) break;
      // An unfinished character ends before the newline, because LF is never part of a character.
      this.#appendText(this.#decoder.decode(), records);
      this.#endLine(records);
      start = newline + 1;
    }
    this.#deliver(records);
  }

  /** Adds decoded text to the line, cutting full records off it. */
  #appendText(text: string, records: OutputRecord[]): void {
    if (text === '') return;
    this.#line += text;
    while (!this.#truncated) {
      const cut = cutAt(this.#line, recordBytesMax);
      if (cut === this.#line.length) return;
      this.#emit({ text: this.#line.slice(0, cut), partial: true }, records);
      this.#line = this.#line.slice(cut);
    }
  }

  #endLine(records: OutputRecord[]): void {
    if (this.#truncated) return;
    this.#emit({ text: this.#line }, records);
    this.#line = '';
  }

  #flushLine(): void {
    if (this.#line === '' || this.#truncated) return;
    const records: OutputRecord[] = [];
    this.#emit({ text: this.#line, partial: true }, records);
    this.#line = '';
    this.#deliver(records);
  }

  /** Accepts a record while it fits the caps. The first record that does not fit is cut to fit, and is the last one. */
  #emit(record: OutputRecord, records: OutputRecord[]): void {
    const room = streamBytesMax - this.#bytesOffered;
    const bytes = Buffer.byteLength(record.text) + (record.partial ? 0 : 1);
    if (this.#recordsOffered >= streamRecordsMax || room === 0) {
      this.#truncated = true;
      return;
    }
    if (bytes <= room) {
      this.#count(record, bytes, records);
      return;
    }
    this.#truncated = true;
    const text = record.text.slice(0, cutAt(record.text, room));
    if (text !== '') this.#count({ text, partial: true }, Buffer.byteLength(text), records);
  }

  #count(record: OutputRecord, bytes: number, records: OutputRecord[]): void {
    this.#bytesOffered += bytes;
    this.#recordsOffered++;
    records.push(record);
  }

  #deliver(records: readonly OutputRecord[]): void {
    if (this.#truncated && !this.#toldCut) {
      this.#toldCut = true;
      this.#offer(records, {
        bytes_seen: this.#bytesSeen,
        bytes_stored: this.#bytesOffered,
        records_stored: this.#recordsOffered,
      });
    } else if (records.length > 0) {
      this.#offer(records);
    }
  }
}

/** The longest prefix of `text`, in UTF-16 units, that takes at most `bytesMax` bytes of UTF-8 and splits no character. */
function cutAt(text: string, bytesMax: number): number {
  // UTF-8 takes at most three bytes for a unit, so short text needs no counting.
  if (text.length * 3 <= bytesMax) return text.length;
  const { read } = new TextEncoder().encodeInto(text, scratch.subarray(0, Math.min(bytesMax, scratch.byteLength)));
  return read;
}

const scratch = new Uint8Array(streamBytesMax);
