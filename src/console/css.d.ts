/** The rules of a package's style sheet, as a text to be adopted. */
declare module '*.css' {
  const rules: string;
  export default rules;
}
