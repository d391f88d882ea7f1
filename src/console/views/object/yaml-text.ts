/** YAML of the server without its book-keeping about managers, and without the revision, which an edit must not be bound to. */
export function withoutBookKeeping(yaml: string): string {
  const kept: string[] = [];
  let section = '';
  let skipping = false;
  for (const line of yaml.split('\n')) {
    if (/^\S/.test(line)) section = line;
    // A list may stand at the indentation of its key.
    if (skipping && !/^ {3}|^ {2}- /.test(line)) skipping = false;
    if (section === 'metadata:' && line === '  managedFields:') skipping = true;
    if (skipping || (section === 'metadata:' && /^ {2}resourceVersion: /.test(line))) continue;
    kept.push(line);
  }
  return kept.join('\n');
}
