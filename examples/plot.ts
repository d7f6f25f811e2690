/** A program draws a picture. It needs the pack `python-data`: `vouchbox packs build python-data`. */
import { client } from './service.ts';

const { runtime_packs } = await client.capabilities();
if (!runtime_packs.some(({ name }) => name === 'python-data')) {
  console.log('not run: this service has no pack python-data');
} else {
  const drawn = await client.run(
    'import matplotlib.pyplot as plt\nplt.plot([1, 4, 9, 16])\nplt.savefig("output/plot.png")',
    { runtime: 'python-data', limits: { wall_seconds: 30, cpu_seconds: 30, mem_mb: 512 } },
  );
  const picture = drawn.files.get('output/plot.png');
  console.log(`${drawn.status}: a picture of ${picture?.length ?? 0} bytes`);
}
