/** Opens an existing group by its location, on a separate thread. */
import type { Group, GroupLocation } from './cgroup.ts';
import { GroupV1 } from './group-v1.ts';
import { GroupV2 } from './group-v2.ts';
import { ProcessTree } from './process-tree.ts';

export function openGroup(location: GroupLocation): Group {
  if (location.version === 'none') return new ProcessTree(location.first);
  return location.version === 'v1' ? new GroupV1(location.paths) : new GroupV2(location.directory);
}
