/** The resource of a kind in the answer of discovery. */
interface ListedResource {
  readonly name: string;
  readonly kind: string;
}

/** Its name; subresources have a slash in theirs. */
export function resourceOfKind(resources: readonly ListedResource[], kind: string): string | undefined {
  return resources.find((each) => each.kind === kind && !each.name.includes('/'))?.name;
}
