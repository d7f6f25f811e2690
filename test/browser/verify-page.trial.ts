/** `verify.html` with everything that a person could give it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { EXPORT_FILES, EXPORT_MANIFEST, exportManifest } from '@vouchbox/evidence';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttestedJob, attestedJob, exportOf, line } from '../../packages/verifier/test/attested-job.ts';
import {
  accessibilityProblems,
  type Browser,
  openBrowser,
  openPage,
  type Page,
  type WatchedPage,
} from '../rig/browser.ts';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';
import { inDirectory, tarOf, zipOf } from './archives.ts';
import { giveExport, giveFile, giveKey, openKeys, problemOf, textOf, verdictOf, verifyPage } from './verify-page.ts';

const job = attestedJob({
  code: 'import json, sys\n\nnumbers = [int(line) for line in open("input/numbers.txt")]\nprint(json.dumps({"sum": sum(numbers)}))\n',
  inputs: { 'input/numbers.txt': '20\n22\n' },
  outputs: { 'output/report/summary.txt': 'sum 42\n' },
  bodies: [
    line('stdout', 'reading input/numbers.txt'),
    line('stdout', '{"sum": 42}'),
    line('stderr', 'one warning'),
    line('stdout', 'done'),
  ],
});
/** A picture of one dot, as PNG. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const bytes = (text: string) => new TextEncoder().encode(text);

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Opens the page, and gives it this key. */
async function openVerify(key = job.key.publicKeyPem, options = {}): Promise<WatchedPage> {
  const opened = await openPage(browser, verifyPage.href, options);
  await giveKey(opened.page, key);
  return opened;
}

/** The files with these changes and a new manifest for them. Anyone can make such a manifest, because it is not signed. */
function forged(changes: Readonly<Record<string, Uint8Array>>, of: AttestedJob = job): Map<string, Uint8Array> {
  const files = new Map([...of.files, ...Object.entries(changes)]);
  return new Map([...files, [EXPORT_MANIFEST, exportManifest(of, files)]]);
}

/** The content with one letter or digit in the middle changed. */
function tampered(content: Uint8Array | undefined): Uint8Array {
  const copy = Uint8Array.from(content ?? []);
  const at = Math.floor(copy.length / 2);
  copy[at] = copy[at] === 0x41 ? 0x42 : 0x41;
  return copy;
}

describe('a changed byte', () => {
  test('is reported with the file’s name, whether or not the manifest was changed to match', async () => {
    await using opened = await openVerify();
    const { page } = opened;
    for (const path of job.files.keys()) {
      for (const files of [
        exportOf(job).set(path, tampered(job.files.get(path))),
        forged({ [path]: tampered(job.files.get(path)) }),
      ]) {
        await giveExport(page, exportOf(job));
        await verdictOf(page, 'good');
        await giveExport(page, files);
        expect(await verdictOf(page, 'refused')).toContain(path);
      }
    }
    expect(opened.troubles).toEqual([]);
  });

  test("in the envelope's payload, in the envelope's signature or in the receipt is reported", async () => {
    await using opened = await openVerify();
    const { page } = opened;
    const envelope = JSON.parse(new TextDecoder().decode(job.attestation.envelope)) as {
      payload: string;
      signatures: { sig: string }[];
    };
    const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"succeeded"', '"cancelled"');
    const [signature] = envelope.signatures;
    const others = [
      { ...envelope, payload: Buffer.from(payload).toString('base64') },
      { ...envelope, signatures: [{ ...signature, sig: `AAAA${signature?.sig.slice(4)}` }] },
    ];
    for (const other of others) {
      await giveExport(page, forged({ [EXPORT_FILES.envelope]: bytes(JSON.stringify(other)) }));
      expect(await verdictOf(page, 'refused')).toContain(
        'attestation.dsse.json: no signature is valid under a pinned key',
      );
      expect(await page.locator('.check.not_tried').count()).toBeGreaterThan(5);
    }
    const receipt = bytes(JSON.stringify({ ...job.receipt, networking: 'host' }));
    await giveExport(page, forged({ [EXPORT_FILES.receipt]: receipt }));
    expect(await verdictOf(page, 'refused')).toContain('receipt.json: it is not the receipt that was signed');
    expect(await textOf(page.locator('#posture'))).toContain('could reach no other host');
  });
});

test('a file that no manifest lists is reported under its name, even if the name has a meaning in scripts or exports', async () => {
  const names = ['key', 'signature', 'constructor', '__proto__', 'toString'];
  const files = exportOf(job);
  for (const name of names) files.set(name, bytes('x'));
  await using opened = await openVerify();
  const { page } = opened;
  await giveExport(page, files);
  expect(await verdictOf(page, 'refused')).toContain('key: it is not listed');
  const failed = await page.locator('.check.failed > div').evaluateAll((all) => all.map((one) => one.textContent));
  expect(failed.toSorted()).toEqual(names.map((name) => `${name}it is not listed`).toSorted());
  expect(opened.troubles).toEqual([]);
});

describe('the key', () => {
  const { key } = job;
  const raw = Buffer.from(key.publicKeyPem.split('\n')[1] ?? '', 'base64').subarray(12);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') };

  test.each([
    ['a PEM block', key.publicKeyPem],
    ['a PEM block with spaces around it', `\n  ${key.publicKeyPem}\n`],
    ['a JWK', JSON.stringify(jwk)],
    ['a key id', key.key_id],
  ])('is accepted as %s', async (_form, text) => {
    await using opened = await openVerify(text);
    await giveExport(opened.page, exportOf(job));
    expect(await verdictOf(opened.page, 'good')).toContain(key.key_id);
  });

  test.each([
    ['a private key', JSON.stringify({ ...jwk, d: jwk.x }), 'private key'],
    [
      'a key of small order',
      '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END PUBLIC KEY-----',
      'small order',
    ],
    ['markup', '<img src=x onerror=alert(1)>', 'This is not a key'],
  ])('is refused if it is %s, and then no result is called good', async (_form, text, words) => {
    await using opened = await openVerify(text);
    await giveExport(opened.page, exportOf(job));
    expect(await verdictOf(opened.page, 'no-key')).toContain(words);
    expect(opened.troubles).toEqual([]);
  });

  test('does not make a result good if the tenant or the job is not the expected one', async () => {
    await using opened = await openVerify();
    const { page } = opened;
    await giveExport(page, exportOf(job));
    await verdictOf(page, 'good');
    await openKeys(page);
    await page.getByText('What else do you expect?').click();
    await page.fill('#tenant', 'another');
    expect(await verdictOf(page, 'refused')).toContain('the tenant is not another');
    await page.fill('#tenant', job.tenant);
    await page.fill('#job', job.job_id);
    await verdictOf(page, 'good');
  });
});

describe('an export', () => {
  test('may be a tar archive, a directory, or an envelope with its result', async () => {
    await using opened = await openVerify();
    const { page } = opened;
    await giveFile(page, 'job.tar.gz', await tarOf(exportOf(job)));
    await verdictOf(page, 'good');
    await giveKey(page, '');
    await verdictOf(page, 'whole');
    await inDirectory(exportOf(job), async (directory) => {
      await using fresh = await openVerify();
      await fresh.page.setInputFiles('#choose-directory', directory);
      await verdictOf(fresh.page, 'good');
    });
    await giveKey(page, job.key.publicKeyPem);
    const two = [EXPORT_FILES.envelope, EXPORT_FILES.result].map((name) => ({
      name: `saved-${name}`,
      mimeType: 'application/json',
      buffer: Buffer.from(job.files.get(name) ?? []),
    }));
    await page.setInputFiles('#choose-files', two);
    await page.getByText('2 files').waitFor();
    await verdictOf(page, 'good');
    expect(await textOf(page.locator('#posture'))).toContain('gVisor');
  });

  test('is accepted when it is dropped on the page, and so is a key when it is dropped on the area for keys', async () => {
    await using opened = await openPage(browser, verifyPage.href);
    const { page } = opened;
    await drop(page, 'main', 'job.zip', zipOf(exportOf(job)));
    await verdictOf(page, 'whole');
    await drop(page, '#key', 'pinned.pem', Buffer.from(job.key.publicKeyPem));
    expect(await verdictOf(page, 'good')).toContain(job.key.key_id);
  });

  test.each([
    ['a file of an unknown kind', Buffer.from('<html><script>alert(1)</script>')],
    ['a zip that is cut off', zipOf(exportOf(job)).subarray(0, 900)],
    ['a zip with a damaged file', damaged(zipOf(exportOf(job)))],
    ['gzip without a tar', gzipSync('x')],
    [
      'a zip that unpacks to more than an export has',
      zipOf(new Map([['manifest.json', Buffer.alloc(300 * 1024 * 1024)]])),
    ],
    ['a zip with too long a history', zipOf(exportOf(job).set('events.ndjson', Buffer.alloc(65 * 1024 * 1024)))],
    ['JSON that is nested too deep', Buffer.from('['.repeat(200_000))],
  ])('an export that is %s is refused with a reason', async (_what, content) => {
    await using opened = await openVerify();
    await giveFile(opened.page, 'given', content);
    expect(await problemOf(opened.page)).not.toBe('');
    expect(await opened.page.locator('#report > *').count()).toBe(0);
    expect(opened.troubles).toEqual([]);
  });

  test("a refusal shows bidirectional control characters in a file's name as escapes", async () => {
    const zip = zipOf(new Map(['1', '2'].map((last) => [`input/\u202e${last}`, bytes('x')])));
    const twice = Buffer.from(zip.toString('latin1').replaceAll('\u00ae2', '\u00ae1'), 'latin1');
    await using opened = await openVerify();
    await giveFile(opened.page, 'given.zip', twice);
    expect(await problemOf(opened.page)).toBe(String.raw`The archive has input/\u{202e}1 twice.`);
  });

  test('an export with ten thousand events and long lines is shown with only a small drawing of its chain', async () => {
    const bodies = Array.from({ length: 10_000 }, (_, at) =>
      line(at % 2 === 0 ? 'stdout' : 'stderr', `${at} `.repeat(40)),
    );
    const large = attestedJob({ bodies, key: job.key });
    await using opened = await openVerify();
    await giveExport(opened.page, exportOf(large));
    await verdictOf(opened.page, 'good');
    expect(await opened.page.locator('.ring').count()).toBeLessThan(60);
    expect(await opened.page.locator('*').count()).toBeLessThan(3000);
    const text = new TextDecoder().decode(large.files.get('events.ndjson')).replace('"5000 5000', '"5000 5001');
    await giveExport(opened.page, forged({ [EXPORT_FILES.events]: bytes(text) }, large));
    expect(await verdictOf(opened.page, 'refused')).toContain('event 5003');
    expect(await textOf(opened.page.locator('.ring.broken'))).toContain('5003');
    expect(await textOf(opened.page.locator('#chain summary'))).toMatch(/^The events \(\d+ to \d+ of 10,00\d\)$/);
  });
});

describe('a history of 60 MB', () => {
  // A result cannot have so much output. So the events have an unknown kind, as events from a newer service may have.
  const bodies = Array.from({ length: 15_000 }, (_, at) => {
    const { timestamp, data } = line('stdout', `${at} `.padEnd(3900, 'x'));
    return { kind: 'note', timestamp, data } as unknown as ReturnType<typeof line>;
  });
  const long = attestedJob({ bodies, key: job.key });

  /** Counts how often a timer in the page fires while the page shows that a check is going on. */
  const countTurns = (page: Page) =>
    page.evaluate(() => {
      const counted = window as unknown as { turns: number };
      counted.turns = 0;
      setInterval(() => {
        if (document.querySelector('#report[aria-busy]') !== null) counted.turns++;
      }, 20);
    });
  const turnsOf = (page: Page) => page.evaluate(() => (window as unknown as { turns: number }).turns);

  test('is checked while the page remains responsive, and can be replaced with another export', async () => {
    expect(long.files.get(EXPORT_FILES.events)?.length).toBeGreaterThan(60_000_000);
    await inDirectory(exportOf(long), async (directory) => {
      await using opened = await openVerify();
      const { page } = opened;
      await countTurns(page);
      await page.setInputFiles('#choose-directory', directory);
      await verdictOf(page, 'good');
      expect(await turnsOf(page)).toBeGreaterThan(5);
      await page.setInputFiles('#choose-directory', directory);
      await page.locator('#report[aria-busy]').waitFor();
      await giveExport(page, exportOf(job));
      await verdictOf(page, 'good');
      expect(await textOf(page.locator('#files-note'))).toBe(`${exportOf(job).size} files`);
      // A busy worker ends a little later.
      await expect.poll(() => page.workers().length).toBe(1);
      expect(opened.troubles).toEqual([]);
    });
  });
});

test('no text in an export, an event, a name or a key becomes markup or runs', async () => {
  const attacks = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '"><svg onload=alert(1)>',
    "javascript:alert(1)//'",
    '</style><script>alert(1)</script>',
    '<!--<script>',
    '{{constructor.constructor("alert(1)")()}}',
    '\u202e\u0000\u001b]8;;javascript:alert(1)\u0007',
  ];
  const outputs = Object.fromEntries(
    attacks.map((_, at) => [
      `output/<img src=x onerror=alert(${at})>.svg`,
      `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(${at})"/>`,
    ]),
  );
  const hostile = attestedJob({
    tenant: '<img src=x onerror=alert(1)>',
    key: job.key,
    code: attacks.join('\n'),
    bodies: attacks.flatMap((attack) => [line('stdout', attack), line('stderr', attack)]),
    outputs,
    receipt: {
      runtime_identity: { name: attacks[1] ?? '', version: attacks[2] ?? '', platform: null },
      networking: attacks[0] as 'host',
      capabilities: attacks[1] ?? '',
    },
  });
  const files = exportOf(hostile);
  for (const attack of attacks) files.set(`${attack.replaceAll('\0', '')}`, bytes(attack));
  await using opened = await openVerify(attacks[0]);
  const { page } = opened;
  await page.evaluate(() => {
    const watched = window as unknown as { alert: () => void; ran: number };
    watched.ran = 0;
    watched.alert = () => {
      watched.ran += 1;
    };
  });
  await giveExport(page, files);
  await page.locator('#report:not([aria-busy]) > #verdict').waitFor();
  await giveKey(page, job.key.publicKeyPem);
  await page.getByText('One key is pinned.').waitFor();
  await verdictOf(page, 'refused');
  await page.locator('details').evaluateAll((all) => {
    for (const details of all) details.setAttribute('open', '');
  });
  await page.locator('button:text("Download")').first().click();
  expect(await page.evaluate(() => (window as unknown as { ran: number }).ran)).toBe(0);
  expect(await page.locator('main script, main img, main iframe, main a[href]').count()).toBe(0);
  expect(await textOf(page.locator('#output pre').first())).toContain('<script>alert(1)</script>');
  expect(opened.troubles).toEqual([]);
  expect(opened.requests.filter((address) => !address.startsWith('blob:'))).toEqual([verifyPage.href]);
});

test('the page can be used with the keyboard alone', async () => {
  await using opened = await openPage(browser, verifyPage.href);
  const { page } = opened;
  const reached: string[] = [];
  for (let steps = 0; steps < 8; steps++) {
    await page.keyboard.press('Tab');
    reached.push(await page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName || ''));
  }
  expect(reached).toEqual([
    'SUMMARY',
    'choose-files',
    'choose-directory',
    'SUMMARY',
    'key',
    'choose-key',
    'SUMMARY',
    expect.any(String),
  ]);
  await giveExport(page, exportOf(job));
  await verdictOf(page, 'whole');
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('verdict-title');
});

test('a page loaded without TLS says that it cannot check signatures, and checks the rest', async () => {
  await using opened = await openPage(browser, 'about:blank');
  const { page } = opened;
  await page.addInitScript(() => {
    Object.defineProperty(crypto, 'subtle', { value: undefined });
  });
  await page.goto(verifyPage.href);
  await giveKey(page, job.key.publicKeyPem);
  await giveExport(page, exportOf(job));
  expect(await verdictOf(page, 'unchecked')).toContain('This browser cannot check Ed25519 signatures here');
  expect(await page.locator('.ring.follows').count()).toBeGreaterThan(3);
});

test('the verify page from a service accepts that service’s export with the service’s key', async () => {
  const rig = await Rig.start({ 'attestation-mode': 'on' });
  const scratch = mkdtempSync(join(tmpdir(), 'vouchbox-page-'));
  try {
    const { job_id } = await rig.run({
      language: 'python',
      code: `print("<b>hello</b>")\nopen("output/dot.png", "wb").write(__import__("base64").b64decode("${DOT}"))`,
      outputs: ['output/dot.png'],
    });
    const directory = join(scratch, job_id);
    const access = ['--url', rig.service.url, '--key', rig.alpha.key];
    expect(await vouchbox(['export', job_id, '--output', directory, ...access])).toMatchObject({ code: 0 });
    const { json: publicKey } = await rig.request('/v1/attestation/public-key');
    await using opened = await openPage(browser, `${rig.service.url}/verify`);
    const { page } = opened;
    await page.setInputFiles('#choose-directory', directory);
    await verdictOf(page, 'whole');
    await giveKey(page, (publicKey as { public_key_pem: string }).public_key_pem);
    expect(await verdictOf(page, 'good')).toContain(job_id);
    expect(await textOf(page.locator('#output pre').first())).toBe('<b>hello</b>\n');
    expect(await textOf(page.locator('#posture'))).toContain('Linux namespaces');
    await expect
      .poll(() =>
        page.locator('.files img').evaluateAll((all) => all.map((img) => (img as HTMLImageElement).naturalWidth)),
      )
      .toEqual([1]);
    expect(await page.locator('.check.failed').count()).toBe(0);
    expect(opened.troubles).toEqual([]);
    expect(opened.requests.filter((address) => !address.startsWith('blob:'))).toEqual([`${rig.service.url}/verify`]);
  } finally {
    rmSync(scratch, { recursive: true });
    expect(await rig.stop()).toEqual([]);
  }
});

describe('accessibility of the page that verifies', () => {
  const SIZES = [
    ['light', { colorScheme: 'light', viewport: { width: 1000, height: 1160 } }],
    ['dark', { colorScheme: 'dark', viewport: { width: 1000, height: 1160 } }],
    ['phone', { colorScheme: 'light', viewport: { width: 360, height: 720 } }],
  ] as const;

  test.each(SIZES)(
    'the page has no accessibility fault with a good export or a tampered export: %s',
    async (_name, options) => {
      await using opened = await openVerify(job.key.publicKeyPem, options);
      const { page } = opened;
      await giveExport(page, exportOf(job));
      await verdictOf(page, 'good');
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(options.viewport.width);
      const text = new TextDecoder()
        .decode(job.files.get('events.ndjson'))
        .replace('{\\"sum\\": 42}', '{\\"sum\\": 43}');
      await giveExport(page, forged({ [EXPORT_FILES.events]: bytes(text) }));
      await verdictOf(page, 'refused');
      expect(await accessibilityProblems(page)).toEqual([]);
    },
  );
});

/** The archive with one byte of the first file's packed content changed. */
function damaged(archive: Buffer): Buffer {
  const copy = Buffer.from(archive);
  copy.fill(0xff, 60, 90);
  return copy;
}

/** Drops a file on an element, as the desktop does. */
async function drop(page: Page, target: string, name: string, content: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([file, base64]) => {
      const data = new DataTransfer();
      const decoded = Uint8Array.from(atob(base64 ?? ''), (character) => character.charCodeAt(0));
      data.items.add(new File([decoded], file ?? ''));
      return data;
    },
    [name, content.toString('base64')],
  );
  await page.dispatchEvent(target, 'drop', { dataTransfer: transfer });
}
