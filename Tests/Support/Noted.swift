import Errand

/// A value that several tasks of a test read and write.
package final class Noted<Value: Sendable>: Sendable {
    private let storage: Lock<Value>

    package init(_ value: Value) { storage = Lock(value) }

    package var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    package func update(_ change: (inout Value) -> Void) { storage.withLock { change(&$0) } }
}

extension Noted where Value: RangeReplaceableCollection, Value.Element: Sendable {
    package func removeFirst() -> Value.Element { storage.withLock { $0.removeFirst() } }
}
