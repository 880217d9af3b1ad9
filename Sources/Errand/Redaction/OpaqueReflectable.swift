/// A type that shows its description and nothing else of what is in it, because that may be secret.
///
/// `dump(_:)`, a debugger and a crash report look into a value with its mirror, also into stored properties that are
/// private. Conform a type of your own that holds secrets, and give it a description without them:
///
///     struct Account: OpaqueReflectable {
///         let name: String
///         let password: String
///
///         var description: String { "Account(\(name))" }
///     }
public protocol OpaqueReflectable: CustomStringConvertible, CustomReflectable {}

extension OpaqueReflectable {
    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: [description]) }
}
