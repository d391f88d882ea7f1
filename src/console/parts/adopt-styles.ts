/** Style sheets of packages. The page's policy forbids style elements, so the document adopts their rules. */

/** Adopts the rules; the returned function removes them. */
export function adoptStyles(css: string): () => void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
  return () => releaseStyles(sheet);
}

export function releaseStyles(sheet: CSSStyleSheet): void {
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
}
