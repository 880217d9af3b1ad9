#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The content of an archive's file: an object with a version and the model.
enum ArchiveFile {
    /// The size limit, 64 MiB: a larger value is neither written nor read. An archive is not a database.
    static let largest = 64 << 20

    /// The reason why a readable file holds no usable value.
    struct Problem: Error {
        var kind: ArchiveError.Kind
        var words: String
    }

    struct Saved<Model: Encodable>: Encodable {
        var version: Int
        var model: Model
    }

    private struct Header: Decodable {
        var version: Int
    }

    private enum Key: CodingKey {
        case model
    }

    /// The model, as saved or migrated.
    private struct Loaded<Model: Decodable>: DecodableWithConfiguration {
        let model: Model

        init(from decoder: any Decoder, configuration migrate: ((any Decoder) throws -> Model)?) throws {
            let members = try decoder.container(keyedBy: Key.self)
            model = try migrate?(members.superDecoder(forKey: .model)) ?? members.decode(Model.self, forKey: .model)
        }
    }

    static func read<Model>(
        _ data: Data, version: Int, migrate: ValueArchive<Model>.Migration?
    ) -> Result<Model, Problem> {
        // Without a version, the content was not written by an archive, whatever it is.
        guard let saved = try? JSONDecoder().decode(Header.self, from: data).version else {
            return .failure(Problem(kind: .damaged, words: "is damaged"))
        }
        if saved > version {
            return .failure(Problem(kind: .futureVersion, words: "was written by a later version of the program"))
        }
        if saved < version, migrate == nil {
            return .failure(
                Problem(kind: .oldVersion, words: "has version \(saved), and the archive has no migration"))
        }
        do {
            let migration = saved < version ? migrate.map { migrate in { try migrate($0, saved) } } : nil
            return .success(try JSONDecoder().decode(Loaded<Model>.self, from: data, configuration: migration).model)
        } catch {
            guard saved < version else { return .failure(Problem(kind: .damaged, words: "is damaged")) }
            let words = "has version \(saved) and cannot be migrated to \(version): \(foreignName(of: error))"
            return .failure(Problem(kind: .oldVersion, words: words))
        }
    }
}
