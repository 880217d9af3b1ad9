import Errand

/// A value that several tasks of a test write to and read.
final class Noted<Value: Sendable>: Sendable {
    fileprivate let storage: Lock<Value>

    init(_ value: Value) { storage = Lock(value) }

    var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    func update(_ change: (inout Value) -> Void) { storage.withLock { change(&$0) } }
}

extension Noted where Value: RangeReplaceableCollection, Value.Element: Sendable {
    func removeFirst() -> Value.Element { storage.withLock { $0.removeFirst() } }
}
