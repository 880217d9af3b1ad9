import Foundation

/// The reader's package during the tutorial, one state after the other.
struct Walkthrough {
    /// A step of the tutorial: a file of the reader's package, in the state that a resource shows.
    struct Step: Equatable, CustomStringConvertible {
        /// The file's name in the reader's package.
        var name: String
        /// The name of the resource.
        var file: String

        var description: String { "\(file), the reader's \(name)" }
    }

    /// The reader's package at one moment: the name and the text of each file.
    typealias State = [String: String]

    /// The steps, in order.
    var steps: [Step] = []

    /// Finds the steps of a tutorial; each step shows code.
    init(_ tutorial: String) {
        steps = tutorial.matches(of: /@Code\(name: "(?<name>[^"]+)", file: "(?<file>[^"]+)"\)/)
            .map { Step(name: String($0.output.name), file: String($0.output.file)) }
    }

    /// Returns the reader's package after each step.
    func states(reading resource: (String) throws -> String) rethrows -> [(step: Step, state: State)] {
        var state = State()
        return try steps.map { step in
            state[step.name] = try resource(step.file)
            return (step, state)
        }
    }
}

extension Walkthrough.State {
    /// The manifest alone.
    var manifest: [String] { keys.filter { $0 == "Package.swift" } }
    /// The files of the library, sorted.
    var library: [String] { keys.filter { !$0.hasSuffix("Tests.swift") && $0 != "Package.swift" }.sorted() }
    /// The files of its tests, sorted.
    var tests: [String] { keys.filter { $0.hasSuffix("Tests.swift") }.sorted() }
}
