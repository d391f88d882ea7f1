/** Programs that a node runs, and their versions. */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import { isAtLeast, versionIn } from '../versions.ts';

/** containerd 1.6 is the first with CRI v1 and needs this runc; upstream's nftables proxy needs this nft. */
const OLDEST = { containerd: '1.6', runc: '1.1', nft: '1.0.1' } as const;

export const programs: Check = {
  name: 'programs',
  check({ programs: facts }) {
    const problems: Finding[] = [];
    const missing = [...facts.missing, ...(facts.missingForWireguard ?? [])];
    if (missing.length > 0) {
      const packages = missing.map((text) => /Debian: ([^)]+)/.exec(text)?.[1] ?? '');
      problems.push(failure(`missing: ${missing.join(', ')}`, `apt-get install ${packages.join(' ')}`));
    }
    const known: string[] = [];
    for (const [name, oldest] of Object.entries(OLDEST)) {
      const line = facts[name as keyof typeof OLDEST];
      if (line === undefined) continue;
      const version = versionIn(line);
      known.push(`${name} ${version ?? line}`);
      if (version === undefined)
        problems.push(warning(`${name} says no version: ${line}`, `${name} of the distribution`));
      else if (!isAtLeast(version, oldest)) problems.push(tooOld(name, version, oldest));
    }
    return worstOf(problems, known.join(', '));
  },
};

/** Without services in nftables, the rest of Keelson's rules works with an older nft. */
function tooOld(name: string, version: string, oldest: string): Finding {
  const text = `${name} ${version} is older than ${oldest}`;
  if (name !== 'nft') return failure(text, `a newer ${name}`);
  return warning(`${text}, which nftables service rules are made for`, 'a newer nft, or --proxy-mode iptables');
}
