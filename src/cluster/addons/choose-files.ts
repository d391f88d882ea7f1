/** Chooses the files to apply: one for each name, and none whose Addon belongs to another server. */
import type { Addon } from './addon-record.ts';
import { takenMessage } from './addon-record.ts';
import type { AddonFile } from './addon-files.ts';
import type { AppliedFiles } from './applied-files.ts';

export interface ChosenFiles {
  readonly kept: readonly AddonFile[];
  readonly refused: readonly { readonly file: AddonFile; readonly reason: string }[];
}

/** Among files of one name, chooses the one already applied, otherwise the first. */
export function choose(
  addonFiles: readonly AddonFile[],
  known: { readonly applied: AppliedFiles; readonly addons: ReadonlyMap<string, Addon>; readonly server: string },
): ChosenFiles {
  const kept: AddonFile[] = [];
  const refused: { file: AddonFile; reason: string }[] = [];
  for (const file of addonFiles) {
    const { name, path } = file;
    const same = addonFiles.filter((each) => each.name === name);
    const chosen = same.find((each) => each.path === known.applied[name]) ?? same[0];
    const owner = known.addons.get(name)?.spec.server;
    if (chosen !== undefined && chosen.path !== path)
      refused.push({ file, reason: `${chosen.path} has the name ${name} already; rename one of them` });
    else if (owner !== undefined && owner !== known.server) refused.push({ file, reason: takenMessage(name, owner) });
    else kept.push(file);
  }
  return { kept, refused };
}
