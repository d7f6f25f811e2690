import { describe, expect, test } from 'vitest';
import { mountsBelow } from './system-pack.ts';

const MOUNTINFO = String.raw`27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /usr/local/share rw - tmpfs tmpfs rw
41 27 254:3 / /usr/local rw,relatime - ext4 /dev/vdb rw
42 27 254:3 / /usr/local rw,relatime - ext4 /dev/vdc rw
43 27 0:41 / /usr/with\040space ro - tmpfs tmpfs rw
44 27 0:42 / /usrlocal rw - tmpfs tmpfs rw
`;

describe('the system pack', () => {
  test('lists the mounts below /usr, each once and after its parent', () => {
    expect(mountsBelow('/usr', MOUNTINFO)).toEqual(['/usr/local', '/usr/local/share', '/usr/with space']);
  });
});
