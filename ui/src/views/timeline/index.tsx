export { Timeline as Component } from "./Timeline";
