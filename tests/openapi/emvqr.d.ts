// The parser of EMVCo's codes has no types of its own. It throws if the checksum is wrong.

declare module "emvqr" {
  interface DataObject {
    data: string | Record<string, { data: string }>;
  }
  const emvqr: { decode(payload: string): Record<string, DataObject> };
  export default emvqr;
}
