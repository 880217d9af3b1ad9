import Foundation

/// What a model asks its decoder for.
indirect enum Script: Sendable {
    /// A value of that type, by the method for it or by that for any type.
    case leaf(Leaf)
    /// The members with those names.
    case object([(name: String, step: Step)])
    /// The elements, one step after the other, and some more than there are.
    case array([Step])

    /// How a member or an element is asked for.
    indirect enum Step: Sendable {
        case decode(Script)
        case decodeIfPresent(Script)
        case leaf(Leaf)
        case leafIfPresent(Leaf)
        case isNull
        case contains
        case nestedObject([(name: String, step: Step)])
        case nestedArray([Step])
        case superDecoder(Script)
        case ownSuperDecoder(Script)
    }
}

/// A model that does what the script of the task says, and keeps what it got, errors included.
struct ScriptedModel: Decodable, Sendable {
    @TaskLocal static var script = Script.object([])

    private(set) var log: [String] = []

    init(from decoder: any Decoder) throws {
        log.append("path \(decoder.codingPath.map { Outcome.text($0) })")
        switch Self.script {
        case .leaf(let leaf): log.append(Outcome.text(try leaf.single(decoder)))
        case .object(let members):
            let container = try decoder.container(keyedBy: AnyKey.self)
            log.append("keys \(container.allKeys.map(\.stringValue).sorted())")
            run(members, container)
        case .array(let steps):
            var container = try decoder.unkeyedContainer()
            run(steps, &container)
        }
    }

    private mutating func note<Value>(_ name: String, _ body: () throws -> Value) {
        log.append("\(name): \(Outcome.of(body))")
    }

    private mutating func run(
        _ members: [(name: String, step: Script.Step)], _ container: KeyedDecodingContainer<AnyKey>
    ) {
        for (name, step) in members {
            let key = AnyKey(name)
            switch step {
            case .decode(let script):
                note(name) { try Self.$script.withValue(script) { try container.decode(Self.self, forKey: key).log } }
            case .decodeIfPresent(let script):
                note(name) {
                    try Self.$script.withValue(script) { try container.decodeIfPresent(Self.self, forKey: key)?.log }
                }
            case .leaf(let leaf): note(name) { try leaf.member(container, key) }
            case .leafIfPresent(let leaf): note(name) { try leaf.memberIfPresent(container, key) }
            case .isNull: note(name) { try container.decodeNil(forKey: key) }
            case .contains: note(name) { container.contains(key) }
            case .nestedObject(let members):
                do {
                    let nested = try container.nestedContainer(keyedBy: AnyKey.self, forKey: key)
                    note(name) { nested.codingPath.map { Outcome.text($0) } }
                    run(members, nested)
                } catch { note(name) { throw error } }
            case .nestedArray(let steps):
                do {
                    var nested = try container.nestedUnkeyedContainer(forKey: key)
                    note(name) { nested.codingPath.map { Outcome.text($0) } }
                    run(steps, &nested)
                } catch { note(name) { throw error } }
            case .superDecoder(let script):
                note(name) {
                    try Self.$script.withValue(script) { try Self(from: container.superDecoder(forKey: key)).log }
                }
            case .ownSuperDecoder(let script):
                note(name) { try Self.$script.withValue(script) { try Self(from: container.superDecoder()).log } }
            }
        }
    }

    private mutating func run(_ steps: [Script.Step], _ container: inout any UnkeyedDecodingContainer) {
        log.append("count \(container.count ?? -1)")
        for step in steps {
            log.append("\(container.currentIndex) \(container.isAtEnd)")
            switch step {
            case .decode(let script):
                note("") { try Self.$script.withValue(script) { try container.decode(Self.self).log } }
            case .decodeIfPresent(let script):
                note("") { try Self.$script.withValue(script) { try container.decodeIfPresent(Self.self)?.log } }
            case .leaf(let leaf): note("") { try leaf.element(&container) }
            case .leafIfPresent(let leaf): note("") { try leaf.elementIfPresent(&container) }
            case .isNull, .contains: note("") { try container.decodeNil() }
            case .nestedObject(let members):
                do {
                    let nested = try container.nestedContainer(keyedBy: AnyKey.self)
                    note("") { nested.codingPath.map { Outcome.text($0) } }
                    run(members, nested)
                } catch { note("") { throw error } }
            case .nestedArray(let steps):
                do {
                    var nested = try container.nestedUnkeyedContainer()
                    note("") { nested.codingPath.map { Outcome.text($0) } }
                    run(steps, &nested)
                } catch { note("") { throw error } }
            case .superDecoder(let script), .ownSuperDecoder(let script):
                note("") { try Self.$script.withValue(script) { try Self(from: container.superDecoder()).log } }
            }
        }
    }
}
