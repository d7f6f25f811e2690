/** Writes zip archives: each file deflated, without a time. APPNOTE 6.3.10, §§ 4.3.6–4.3.16 and 4.4. */

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
/** Bit 11 of the flags: names are UTF-8. */
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
/** 1980-01-01, the first day that the format has: equal files make equal archives. */
const FIRST_DAY = 0x0021;

type Bytes = Uint8Array<ArrayBuffer>;

export async function zipOf(files: ReadonlyMap<string, Uint8Array>): Promise<Bytes> {
  const locals: Bytes[] = [];
  const centrals: Bytes[] = [];
  let offset = 0;
  for (const [path, content] of files) {
    const name = new TextEncoder().encode(path);
    const packed = await deflated(content);
    const common = fields(
      [2, VERSION],
      [2, UTF8_NAMES],
      [2, DEFLATED],
      [2, 0],
      [2, FIRST_DAY],
      [4, crc32(content)],
    ).concat(fields([4, packed.length], [4, content.length], [2, name.length], [2, 0]));
    const local = Uint8Array.from([...fields([4, LOCAL]), ...common, ...name]);
    centrals.push(
      Uint8Array.from([
        ...fields([4, CENTRAL], [2, VERSION]),
        ...common,
        ...fields([2, 0], [2, 0], [2, 0], [4, 0], [4, offset]),
        ...name,
      ]),
    );
    locals.push(local, packed);
    offset += local.length + packed.length;
  }
  const list = centrals.reduce((sum, { length }) => sum + length, 0);
  const end = fields([4, END], [2, 0], [2, 0], [2, files.size], [2, files.size], [4, list], [4, offset], [2, 0]);
  return new Uint8Array(await new Blob([...locals, ...centrals, Uint8Array.from(end)]).arrayBuffer());
}

/** Numbers as the format has them, the lowest byte first. */
function fields(...numbers: readonly (readonly [bytes: 2 | 4, value: number])[]): number[] {
  return numbers.flatMap(([bytes, value]) =>
    Array.from({ length: bytes }, (_, place) => (value >>> (8 * place)) & 0xff),
  );
}

async function deflated(content: Uint8Array): Promise<Bytes> {
  const stream = new Blob([content as Bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});

function crc32(content: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of content) sum = (CRC_TABLE[(sum ^ byte) & 0xff] as number) ^ (sum >>> 8);
  return ~sum >>> 0;
}
