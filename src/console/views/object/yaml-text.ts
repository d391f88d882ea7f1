/** The server's YAML without managed fields, and without the revision, to which an edit must not be bound. */
export function withoutBookKeeping(yaml: string): string {
  const kept: string[] = [];
  let section = '';
  let skipping = false;
  for (const line of yaml.split('\n')) {
    if (/^\S/.test(line)) section = line;
    // A list may have the same indentation as its key.
    if (skipping && !/^ {3}|^ {2}- /.test(line)) skipping = false;
    if (section === 'metadata:' && line === '  managedFields:') skipping = true;
    if (skipping || (section === 'metadata:' && /^ {2}resourceVersion: /.test(line))) continue;
    kept.push(line);
  }
  return kept.join('\n');
}
